import { cutText } from '../../agents/cut.ts';
import type { AgentListener } from '../../agents/agent-end.ts';
import type { Database } from '../../database/database.ts';
import { lastProgress, recordChange } from '../../database/tasks/feed.ts';
import { AGENT_MESSAGE_BYTES, MAX_AGENT_MESSAGES } from '../../domain/common/limits.ts';
import type { AgentWork } from '../../domain/tasks/step-work.ts';
import { storable } from '../../domain/common/text.ts';
import { createProgressMerger } from '../progress-merger.ts';

type Dependencies = { database: Database; clock: () => Date };
type AgentReport = { number: number; at: Date; data: { text?: string; percent?: number } };

/** Takes what an agent says while it works, and has it written into its run's feed. */
export type AgentFeed = AgentListener & {
  /** Resolves when all of it is written. @throws what the database throws */
  flush(): Promise<void>;
  /** Ends without writing what still waits. */
  drop(): Promise<void>;
};

/**
 * What comes too fast is merged before it is written: of progress the latest counts, and of messages no more than
 * {@link MAX_AGENT_MESSAGES} of an attempt are told. Work that is done again goes on counting where it was left.
 */
export async function createAgentFeed(
  { database, clock }: Dependencies,
  work: AgentWork,
): Promise<AgentFeed> {
  const { executionId, attempt } = work;
  const { id, name, agent } = work.step;
  const writerOf = async (type: 'agent.message' | 'step.progress') => {
    const prefix = `${type}:${id}:${attempt}:`;
    let number = await lastProgress(database, executionId, prefix);
    const merger = createProgressMerger<AgentReport>(async (all) => {
      const entries = all.map((one) => ({
        key: `${prefix}${one.number}`,
        type,
        at: one.at.toISOString(),
        data: { step: { id, name, agent, attempt }, ...one.data },
      }));
      await recordChange(database, { executionId, view: null, entries });
    });
    const tell = (data: AgentReport['data']) => {
      number += 1;
      merger.report({ number, at: clock(), data });
    };
    return { tell, merger, count: () => number };
  };
  const messages = await writerOf('agent.message');
  const progress = await writerOf('step.progress');
  const cut = (text: string) => cutText(storable(text), AGENT_MESSAGE_BYTES).text;
  return {
    message(text) {
      if (messages.count() < MAX_AGENT_MESSAGES) messages.tell({ text: cut(text) });
    },
    progress(percent, text) {
      progress.tell({ ...(percent === null ? {} : { percent }), ...(text ? { text: cut(text) } : {}) });
    },
    async flush() {
      await messages.merger.flush();
      await progress.merger.flush();
    },
    async drop() {
      await messages.merger.drop();
      await progress.merger.drop();
    },
  };
}
