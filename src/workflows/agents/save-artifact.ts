import { proxyActivities } from '@temporalio/workflow';
import type { ArtifactActivities } from '../../activities/agents/artifacts.ts';
import type { CallPlace, ToolAnswer } from '../../domain/agents/agent-work.ts';
import { noteCall } from './note-call.ts';
import type { Session } from './session.ts';

const { saveArtifact } = proxyActivities<ArtifactActivities>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/** Keeps a document of the agent's; the record of the call says how long it is, the document itself is kept once. */
export async function save(session: Session, input: unknown, place: CallPlace): Promise<ToolAnswer> {
  const { step } = session.work;
  const options = { summary: `${step.name} · ${step.agent} · document` };
  const saved = await saveArtifact.executeWithOptions(options, [{ place, agent: step.agent, input }]);
  if (saved.artifact) session.noteArtifact(saved.artifact);
  await noteCall(session, { name: 'save_artifact', input: withoutContent(input) }, place, saved.answer);
  return saved.answer;
}

function withoutContent(input: unknown): unknown {
  const { content, ...rest } = (input ?? {}) as Record<string, unknown>;
  return typeof content === 'string' ? { ...rest, content: `[${content.length} characters]` } : input;
}
