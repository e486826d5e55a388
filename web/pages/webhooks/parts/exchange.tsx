import { Box, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyButton } from '../../../components/copy-button.tsx';
import { Headers } from '../../../components/headers.tsx';
import { BodyView } from '../../../components/json-view.tsx';
import { statusLine } from './attempt-text.ts';
import { asCurl } from './curl.ts';
import classes from './exchange.module.css';
import type { Attempt } from './queries.ts';

/** Request and response side by side. The response of a failed attempt comes first, because it shows the cause. */
export function Exchange({ attempt }: { attempt: Attempt }) {
  const request = <RequestSide key="request" request={attempt.request} />;
  const response = <ResponseSide key="response" attempt={attempt} />;
  return (
    <div className={classes['sides']}>
      {attempt.failure === null ? [request, response] : [response, request]}
    </div>
  );
}

type RequestProps = { request: Attempt['request']; name?: string; children?: ReactNode };

/** Shows a request. `children` replace its body: of a request that is not sent yet, whose headers are shown, too. */
export function RequestSide({ request, name = 'Request', children }: RequestProps) {
  return (
    <Side
      title={name}
      line={`POST ${request.url}`}
      actions={<CopyButton value={asCurl(request)} label="Copy as curl" />}
      headers={request.headers}
      areHeadersOpen={children !== undefined}
    >
      {children ??
        (request.body === null ? (
          <Text size="sm" c="dimmed">
            Payload deleted after the retention period
          </Text>
        ) : (
          <BodyView text={request.body} label="Request body" />
        ))}
    </Side>
  );
}

function ResponseSide({ attempt: { response, message, failure } }: { attempt: Attempt }) {
  if (!response) {
    return (
      <Side title="Response" line={failure?.replaceAll('_', ' ') ?? 'none'}>
        <Text size="sm">No response. {message}</Text>
      </Side>
    );
  }
  return (
    <Side title="Response" line={statusLine(response.status)} headers={response.headers}>
      {response.body === null ? (
        <Text size="sm" c="dimmed">
          Response deleted after the retention period
        </Text>
      ) : response.body === '' ? (
        <Text size="sm" c="dimmed">
          Empty body
        </Text>
      ) : (
        <BodyView text={response.body} label="Response body" />
      )}
      {response.truncated ? (
        <Text size="sm" c="dimmed">
          Truncated to the first 64 KiB
        </Text>
      ) : null}
    </Side>
  );
}

type SideProps = {
  title: string;
  line: string;
  actions?: ReactNode;
  headers?: Record<string, string>;
  areHeadersOpen?: boolean;
  children: ReactNode;
};

function Side({ title, line, actions, headers = {}, areHeadersOpen = false, children }: SideProps) {
  return (
    <Box component="section" className={classes['side']} aria-label={title}>
      <Group justify="space-between" wrap="nowrap" mb={4}>
        <Title order={2} size="h5">
          {title}
        </Title>
        {actions}
      </Group>
      <p className={classes['line']}>{line}</p>
      <Headers headers={headers} isOpen={areHeadersOpen} />
      {children}
    </Box>
  );
}
