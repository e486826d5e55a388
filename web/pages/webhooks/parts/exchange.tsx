import { Box, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyButton } from '../../../components/copy-button.tsx';
import { BodyView } from '../../../components/json-view.tsx';
import { statusLine } from './attempt-text.ts';
import { asCurl } from './curl.ts';
import classes from './exchange.module.css';
import { plural } from './health.ts';
import type { Attempt } from './queries.ts';

/** Request and response side by side. */
export function Exchange({ attempt }: { attempt: Attempt }) {
  return (
    <div className={classes['sides']}>
      <RequestSide request={attempt.request} />
      <ResponseSide attempt={attempt} />
    </div>
  );
}

type RequestProps = { request: Attempt['request']; name?: string; children?: ReactNode };

/** Shows a request. `children` replace its body. */
export function RequestSide({ request, name = 'Request', children }: RequestProps) {
  return (
    <Side
      title={name}
      line={`POST ${request.url}`}
      actions={<CopyButton value={asCurl(request)} label="Copy as curl" />}
      headers={request.headers}
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
  children: ReactNode;
};

function Side({ title, line, actions, headers = {}, children }: SideProps) {
  const names = Object.keys(headers);
  return (
    <Box component="section" className={classes['side']} aria-label={title}>
      <Group justify="space-between" wrap="nowrap" mb={4}>
        <Title order={2} size="h5">
          {title}
        </Title>
        {actions}
      </Group>
      <p className={classes['line']}>{line}</p>
      {names.length > 0 ? (
        <details className={classes['headers']} open>
          <summary>{plural(names.length, 'header')}</summary>
          <dl>
            {names.map((name) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{headers[name]}</dd>
              </div>
            ))}
          </dl>
        </details>
      ) : null}
      {children}
    </Box>
  );
}
