import { Group, Stack, Text } from '@mantine/core';
import { CopyButton } from '../../components/copy-button.tsx';
import { JsonView } from '../../components/json-view.tsx';
import type { Run } from './queries.ts';
import { asCurl } from './as-curl.ts';

/** Shows the submission, and the same as a command. */
export function RequestTab({ run }: { run: Run }) {
  const request = {
    title: run.title,
    ...(run.description === null ? {} : { description: run.description }),
    project_id: run.project_id,
    task_type: run.task_type,
    ...(run.callback.url === null ? {} : { callback_url: run.callback.url }),
    ...(Object.keys(run.metadata).length === 0 ? {} : { metadata: run.metadata }),
  };
  return (
    <Stack gap="sm">
      {run.description ? (
        <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
          {run.description}
        </Text>
      ) : null}
      <JsonView value={request} label="request" />
      <Group>
        <CopyButton value={asCurl(location.origin, request)} label="Copy as curl" />
      </Group>
    </Stack>
  );
}
