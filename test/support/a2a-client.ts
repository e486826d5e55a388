import { randomUUID } from 'node:crypto';
import { Role, type Message, type Part, type SendMessageRequest, type StreamResponse } from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client';

/** The bindings that the service has. */
export const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const;
export type Binding = (typeof BINDINGS)[number];

/** Their update is that of `run.ended`. */
const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'escalated']);

/** Returns the SDK's own client, which has read the card of the service, for one binding. */
export async function a2aClient(baseUrl: string, key: string, binding: Binding): Promise<Client> {
  const fetchImpl = (async (input: string | URL, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('X-API-Key', key);
    return await fetch(input, { ...init, headers });
  }) as typeof fetch;
  const options = { fetchImpl };
  const transport =
    binding === 'JSONRPC' ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options);
  const cardResolver = new DefaultAgentCardResolver(options);
  const factory = new ClientFactory({ transports: [transport], cardResolver });
  return await factory.createFromUrl(baseUrl);
}

/** Returns a request with a message of one text. */
export function messageWith(
  text: string,
  {
    part,
    returnImmediately = true,
    ...fields
  }: Partial<Message> & { part?: Part; returnImmediately?: boolean } = {},
): SendMessageRequest {
  const content = { $case: 'text' as const, value: text };
  return {
    tenant: '',
    message: {
      messageId: randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [part ?? { content, metadata: undefined, filename: '', mediaType: 'text/plain' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...fields,
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    metadata: undefined,
  };
}

/** Returns the text of a message. */
export function textOf(message: Message | undefined): string {
  return (message?.parts ?? [])
    .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
    .join('');
}

/** Reads a stream to its end. */
export async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const read: StreamResponse[] = [];
  for await (const response of stream) read.push(response);
  return read;
}

/** Returns the positions in the feed that the updates of a stream have. */
export function positionsOf(responses: readonly StreamResponse[]): number[] {
  return responses.flatMap(({ payload }) =>
    payload?.$case === 'statusUpdate' ? [Number(payload.value.metadata?.['seq'])] : [],
  );
}

/** Returns the positions of the events of a feed that A2A has updates for, after a position. */
export function shownPositions(
  events: readonly { seq: number; type: string; data: { to?: string } }[],
  after: number,
): number[] {
  return events
    .filter(({ seq, type, data }) => seq > after && !(type === 'state.changed' && ENDS.has(data.to ?? '')))
    .map(({ seq }) => seq);
}
