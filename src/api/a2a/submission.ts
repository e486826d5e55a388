import type { Message, SendMessageRequest } from '@a2a-js/sdk';
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors';
import { MAX_TITLE_LENGTH } from '../../domain/common/limits.ts';
import { truncate } from '../../domain/common/text.ts';

/** Fields of a submission that a message names in its metadata. All other metadata is the run's. */
const NAMED = ['title', 'description', 'task_type', 'project_id'] as const;

/**
 * Returns the submission in a message, not validated: the text is the description, its first line the title unless the
 * metadata, or a part with data, names another. `projectId` is the project of the credential, null for a person.
 * @throws A2AError for parts that are not text or data, or a message without text
 */
export function submissionOf(
  { message, metadata: ofRequest }: Pick<SendMessageRequest, 'metadata'> & { message: Message },
  projectId: string | null,
): Record<string, unknown> & { metadata: Record<string, unknown> } {
  const { text, data } = contentOf(message);
  const given: Record<string, unknown> = { ...ofRequest, ...message.metadata };
  const named = Object.fromEntries(NAMED.filter((name) => name in given).map((name) => [name, given[name]]));
  const rest = Object.fromEntries(
    Object.entries(given).filter(([name]) => !(NAMED as readonly string[]).includes(name)),
  );
  const { metadata: ofData, ...fields } = data;
  if ('callback_url' in fields)
    throw new RequestMalformedError(
      '`callback_url` is not available here. Use push notifications, poll the task, or follow it.',
    );
  if (ofData !== undefined && !isObject(ofData))
    throw new RequestMalformedError('`metadata` must be an object.');
  return {
    ...(projectId === null ? {} : { project_id: projectId }),
    ...titled(text, typeof (fields['title'] ?? named['title']) === 'string'),
    ...named,
    ...fields,
    metadata: { ...rest, ...ofData },
  };
}

/**
 * Returns the answer in a message to a task that asks, not validated: its text, and the question if the metadata names
 * it.
 * @throws A2AError like {@link submissionOf}
 */
export function answerOf(message: Message): { reason: string; question?: unknown } {
  const { text, data } = contentOf(message);
  if (Object.keys(data).length > 0) throw new ContentTypeNotSupportedError('An answer must be text.');
  if (text === '') throw new RequestMalformedError('The message has no text.');
  const question: unknown = message.metadata?.['question'];
  return { reason: text, ...(question === undefined ? {} : { question }) };
}

function titled(text: string, hasTitle: boolean): Record<string, string> {
  if (text === '') {
    if (hasTitle) return {};
    throw new RequestMalformedError('The message has no text.');
  }
  const [first = ''] = text.trimStart().split(/\r?\n/, 1);
  const isShort = first.length <= MAX_TITLE_LENGTH;
  const title = isShort ? first : `${truncate(first, MAX_TITLE_LENGTH - 1)}…`;
  return { title, ...(text === title && !hasTitle ? {} : { description: text }) };
}

function contentOf({ parts }: Message): { text: string; data: Record<string, unknown> } {
  const texts: string[] = [];
  let data: Record<string, unknown> = {};
  for (const { content, mediaType, filename } of parts) {
    if (content?.$case === 'text' && isText(mediaType)) texts.push(content.value);
    else if (content?.$case === 'data' && isObject(content.value)) data = { ...data, ...content.value };
    else if (content?.$case === 'data')
      throw new RequestMalformedError('A part with data must be an object.');
    else
      throw new ContentTypeNotSupportedError(
        `Parts must be text or data.${filename || mediaType ? ` This one is not: ${filename || mediaType}` : ''}`,
      );
  }
  return { text: texts.join('\n\n').trim(), data };
}

function isText(mediaType: string): boolean {
  return mediaType === '' || /^(text\/|application\/json\b)/i.test(mediaType) || mediaType === 'text';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
