import { Context } from '@temporalio/activity';
import type { Database } from '../database/database.ts';
import { mailNextNotice, type UnmailedNotice } from '../database/people/notices.ts';
import { createSemaphore } from '../domain/common/semaphore.ts';
import type { Occasion } from '../domain/people/notice.ts';
import type { Mailer } from '../mail/mailer.ts';
import { taskAskedMail } from '../mail/task-asked.ts';
import { taskEscalatedMail } from '../mail/task-escalated.ts';
import { webhookDisabledMail } from '../mail/webhook-disabled.ts';
import type { NotifyInput } from '../temporal/delivery-messages.ts';
import { startHeartbeat } from './heartbeat.ts';

export type NotifyActivities = ReturnType<typeof createNotifyActivities>;

type Dependencies = {
  database: Database;
  /** Null if no mail server is configured. Then there are only the notices in the screens. */
  mailer: Mailer | null;
  /** The public address without a slash at its end. */
  baseUrl: string;
  clock?: () => Date;
};

/**
 * Mails that a process sends at once. Each one locks its notice in a transaction, with one of the few database connections
 * that deliveries need, too.
 */
const MAILS_AT_ONCE = 2;

/** Creates the activity that sends mails. */
export function createNotifyActivities({
  database,
  mailer,
  baseUrl,
  clock = () => new Date(),
}: Dependencies) {
  const sends = createSemaphore(MAILS_AT_ONCE);
  return {
    /**
     * Mails everybody who was not mailed about this yet, and returns the number of mails. A rejected mail does not
     * delay the others.
     * @throws Error if one or more mails failed; a repeat sends only those
     */
    async mailNotices(input: NotifyInput): Promise<{ mailed: number }> {
      if (mailer === null) return { mailed: 0 };
      using _heartbeat = startHeartbeat();
      return await mailAll(occasionOf(input), mailer);
    },
  };

  async function mailAll(occasion: Occasion, sending: Mailer) {
    const { cancellationSignal } = Context.current();
    const failures = new Map<string, string>();
    let mailed = 0;
    for (;;) {
      let current = '';
      const send = async (notice: UnmailedNotice) => {
        current = notice.id;
        await sending.send({ to: notice.email, id: notice.id, ...mailOf(notice, occasion, baseUrl) });
      };
      try {
        const isMore = await sends.run(() => {
          cancellationSignal.throwIfAborted();
          return mailNextNotice(database, { ...occasion, except: [...failures.keys()] }, send, clock);
        });
        if (!isMore) break;
        mailed += 1;
      } catch (error) {
        if (current === '') throw error;
        failures.set(current, error instanceof Error ? error.message : 'the mail was not accepted');
      }
    }
    const [failure] = failures.values();
    if (failure === undefined) return { mailed };
    throw new Error(`${failures.size} mails failed, ${mailed} were sent; first failure: ${failure}`);
  }
}

function occasionOf(input: NotifyInput): Occasion {
  if ('webhookId' in input) {
    return { kind: 'webhook.disabled', id: input.webhookId, at: new Date(input.disabledAt) };
  }
  return 'askedAt' in input
    ? { kind: 'task.asked', id: input.executionId, at: new Date(input.askedAt) }
    : { kind: 'task.escalated', id: input.executionId, at: new Date(input.escalatedAt) };
}

function mailOf(notice: UnmailedNotice, { kind, id, at }: Occasion, baseUrl: string) {
  const { person, workspace, detail } = notice;
  const textOf = (name: string) => (typeof detail[name] === 'string' ? detail[name] : null);
  if (kind === 'webhook.disabled') {
    const reason = textOf('reason') ?? 'too many attempts in a row failed';
    const webhook = { webhookId: id, disabledAt: at, name: textOf('name') ?? id, reason };
    return webhookDisabledMail({ ...webhook, person, workspace }, baseUrl);
  }
  const task = {
    executionId: id,
    title: textOf('title') ?? id,
    project: textOf('project') ?? '',
    step: textOf('step'),
    agent: textOf('agent'),
    person,
    workspace,
  };
  return kind === 'task.asked'
    ? taskAskedMail({ ...task, askedAt: at, question: textOf('question') ?? '' }, baseUrl)
    : taskEscalatedMail({ ...task, escalatedAt: at, reason: textOf('reason') ?? '' }, baseUrl);
}
