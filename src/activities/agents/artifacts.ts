import { createHash } from 'node:crypto';
import { storeArtifact } from '../../database/tasks/artifacts.ts';
import type { Database } from '../../database/database.ts';
import type { CallKey, ToolAnswer } from '../../domain/agents/agent-work.ts';
import { artifactSizeFault, readArtifact, type ArtifactInfo } from '../../domain/tasks/artifact.ts';
import { MAX_ARTIFACTS } from '../../domain/common/limits.ts';

export type ArtifactActivities = ReturnType<typeof createArtifactActivities>;

/** The answer to the agent, and the saved document, if any. */
export type SavedArtifact = { answer: ToolAnswer; artifact: ArtifactInfo | null };

type Dependencies = { database: Database; clock: () => Date };
type SaveArtifactInput = { place: Pick<CallKey, 'executionId' | 'stepId'>; agent: string; input: unknown };

/** Creates the activity that saves documents of agents. */
export function createArtifactActivities({ database, clock }: Dependencies) {
  return {
    /** Saves a document for people to download. An invalid document is an answer to the agent, not a failure. */
    async saveArtifact({ place, agent, input }: SaveArtifactInput): Promise<SavedArtifact> {
      const draft = readArtifact(input);
      if ('error' in draft) return refused(draft.error);
      const { name, media_type } = draft;
      const content = Buffer.from(draft.content, draft.encoding === 'base64' ? 'base64' : 'utf8');
      const fault = artifactSizeFault(content.length);
      if (fault !== null) return refused(fault);
      const info = { name, media_type, size: content.length };
      const outcome = await storeArtifact(database, {
        ...info,
        content,
        executionId: place.executionId,
        step_id: place.stepId,
        agent,
        sha256: createHash('sha256').update(content).digest('hex'),
        created_at: clock(),
      });
      if (outcome === 'full') return refused(`the run has reached its limit of ${MAX_ARTIFACTS} documents`);
      if (outcome === 'ended') return refused('the task has ended');
      if (outcome === 'missing') return refused('the task was erased');
      return { answer: answerOf(`saved ${name}, ${content.length} bytes`), artifact: info };
    },
  };
}

function refused(why: string): SavedArtifact {
  return { answer: { ...answerOf(why), is_error: true }, artifact: null };
}

function answerOf(text: string): ToolAnswer {
  return { text, is_error: false, truncated: false };
}
