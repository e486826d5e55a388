import { cutText } from '../../agents/cut.ts';
import type { AgentListener } from '../../agents/agent-end.ts';
import type { Database } from '../../database/database.ts';
import { findLastProgress, recordChange } from '../../database/tasks/feed.ts';
import { AGENT_MESSAGE_BYTES, MAX_AGENT_MESSAGES } from '../../domain/common/limits.ts';
import type { AgentWork } from '../../domain/tasks/step-work.ts';
import { storable } from '../../domain/common/text.ts';
import { createProgressMerger } from '../progress-merger.ts';

type Dependencies = { database: Database; clock: () => Date };
type AgentReport = { number: number; at: Date; data: { text?: string; percent?: number } };

/** Writes the messages and the progress of an agent to the feed of its run. */
export type AgentFeed = AgentListener & {
  /**
   * Resolves when everything is written.
   * @throws what the database throws
   */
  flush(): Promise<void>;
  /** Stops without writing what is pending. */
  drop(): Promise<void>;
};

/**
 * Creates the feed of an attempt. Frequent reports are merged before they are written: the latest progress counts, and
 * an attempt has at most {@link MAX_AGENT_MESSAGES} messages. Repeated work continues with the last number.
 */
export async function createAgentFeed(
  { database, clock }: Dependencies,
  work: AgentWork,
): Promise<AgentFeed> {
  const { executionId, attempt } = work;
  const { id, name, agent } = work.step;
  const writerOf = async (type: 'agent.message' | 'step.progress') => {
    const prefix = `${type}:${id}:${attempt}:`;
    let number = await findLastProgress(database, executionId, prefix);
    const merger = createProgressMerger<AgentReport>(async (all) => {
      const entries = all.map((one) => ({
        key: `${prefix}${one.number}`,
        type,
        at: one.at.toISOString(),
        data: { step: { id, name, agent, attempt }, ...one.data },
      }));
      await recordChange(database, { executionId, view: null, entries });
    });
    const add = (data: AgentReport['data']) => {
      number += 1;
      merger.report({ number, at: clock(), data });
    };
    return { add, merger, count: () => number };
  };
  const messages = await writerOf('agent.message');
  const progress = await writerOf('step.progress');
  const cut = (text: string) => cutText(storable(text), AGENT_MESSAGE_BYTES).text;
  return {
    message(text) {
      if (messages.count() < MAX_AGENT_MESSAGES) messages.add({ text: cut(text) });
    },
    progress(percent, text) {
      progress.add({ ...(percent === null ? {} : { percent }), ...(text ? { text: cut(text) } : {}) });
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
