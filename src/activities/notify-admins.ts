import { Context } from '@temporalio/activity';
import type { Database } from '../database/connect.ts';
import { mailNextNotice, type UnmailedNotice } from '../database/notices.ts';
import type { Mailer } from '../mail/mailer.ts';
import { webhookDisabledMail } from '../mail/webhook-disabled.ts';
import type { NotifyInput } from '../workflows/delivery-messages.ts';
import { keepBeating } from './heartbeat.ts';

export type NotifyActivities = ReturnType<typeof createNotifyActivities>;

type Means = {
  database: Database;
  /** Null where no mail server is configured: then the notices in the screens are all there is. */
  mailer: Mailer | null;
  /** The public address without a slash at its end. */
  baseUrl: string;
  clock?: () => Date;
};

/** Telling people by mail. */
export function createNotifyActivities({ database, mailer, baseUrl, clock = () => new Date() }: Means) {
  return {
    /**
     * Mails every admin who was not mailed about this disabling yet; answers how many it has mailed. Somebody whose
     * mail is not taken keeps nobody else from theirs.
     * @throws Error when one or more could not be mailed; a repeat tries only those
     */
    async mailNotices({ webhookId, disabledAt }: NotifyInput): Promise<{ mailed: number }> {
      if (mailer === null) return { mailed: 0 };
      const stopBeating = keepBeating();
      try {
        return await mailAll({ webhookId, disabledAt: new Date(disabledAt) }, mailer);
      } finally {
        stopBeating();
      }
    },
  };

  async function mailAll(disabling: { webhookId: string; disabledAt: Date }, sending: Mailer) {
    const { cancellationSignal } = Context.current();
    const troubles = new Map<string, string>();
    let mailed = 0;
    for (;;) {
      cancellationSignal.throwIfAborted();
      let current = '';
      try {
        const isMore = await mailNextNotice(
          database,
          { ...disabling, except: [...troubles.keys()] },
          async (notice) => {
            current = notice.id;
            await sending.send({
              to: notice.email,
              id: notice.id,
              ...mailOf(notice, disabling, baseUrl),
            });
          },
          clock,
        );
        if (!isMore) break;
        mailed += 1;
      } catch (error) {
        if (current === '') throw error;
        troubles.set(current, error instanceof Error ? error.message : 'the mail was not taken');
      }
    }
    const [trouble] = troubles.values();
    if (trouble === undefined) return { mailed };
    throw new Error(`${troubles.size} could not be mailed, ${mailed} were; first: ${trouble}`);
  }
}

function mailOf(
  { detail, person, workspace }: UnmailedNotice,
  { webhookId, disabledAt }: { webhookId: string; disabledAt: Date },
  baseUrl: string,
) {
  const { name, reason } = detail;
  const said = {
    name: typeof name === 'string' ? name : webhookId,
    reason: typeof reason === 'string' ? reason : 'too many attempts in a row failed',
  };
  return webhookDisabledMail({ webhookId, disabledAt, person, workspace, ...said }, baseUrl);
}
