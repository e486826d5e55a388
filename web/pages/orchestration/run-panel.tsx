import { useQuery } from '@tanstack/react-query';
import { SidePanel } from '../../components/side-panel.tsx';
import { runQuery } from './queries.ts';
import { RunView } from './run-view.tsx';

type PanelProps = { executionId: string; onClose: () => void; onStep: (by: -1 | 1) => void };

/** A run beside the list. */
export function RunPanel({ executionId, onClose, onStep }: PanelProps) {
  const { data: run } = useQuery(runQuery(executionId));
  return (
    <SidePanel
      label="Run"
      row={`[data-run="${CSS.escape(executionId)}"]`}
      title={run?.title ?? 'Run'}
      onClose={onClose}
      onStep={onStep}
      page={{ to: '/orchestration/$executionId', params: { executionId } }}
    >
      <RunView key={executionId} executionId={executionId} />
    </SidePanel>
  );
}
