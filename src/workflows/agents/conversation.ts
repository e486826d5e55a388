import type { ModelMessage } from 'ai';
import { MAX_CONVERSATION_BYTES } from '../../domain/common/limits.ts';

const LEFT_OUT = '[omitted: this answer is too old]';
/** Number of latest messages that are never shortened. */
const LATEST = 8;

/**
 * The messages between an agent and its model, below a size limit. Above the limit, the oldest tool answers are
 * blanked, then the oldest turns are omitted. The first message, which contains the task, stays. Each cut shortens the
 * conversation to 70 % of the limit, so that the beginning stays the same for many calls and providers can cache it.
 */
export class Conversation {
  #messages: ModelMessage[] = [];
  #sizes: number[] = [];
  readonly #limit: number;

  constructor(messages: readonly ModelMessage[], limit = MAX_CONVERSATION_BYTES) {
    this.#limit = limit;
    this.add(messages);
  }

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  add(messages: readonly ModelMessage[]): void {
    this.#messages.push(...messages);
    this.#sizes.push(...messages.map(sizeOf));
    if (this.#size() > this.#limit) this.#shrinkTo(this.#limit * 0.7);
  }

  #size(): number {
    return this.#sizes.reduce((sum, size) => sum + size, 0);
  }

  #shrinkTo(size: number): void {
    const old = Math.max(1, this.#messages.length - LATEST);
    for (let index = 1; index < old && this.#size() > size; index += 1) {
      const message = this.#messages[index];
      if (message?.role !== 'tool') continue;
      const blank = blanked(message);
      this.#messages[index] = blank;
      this.#sizes[index] = sizeOf(blank);
    }
    while (this.#size() > size) {
      // A turn begins with the model's message. The answers to its calls are removed with it.
      const next = this.#messages.findIndex(({ role }, index) => index > 1 && role === 'assistant');
      if (next === -1) return;
      this.#messages.splice(1, next - 1);
      this.#sizes.splice(1, next - 1);
    }
  }
}

function blanked(message: Extract<ModelMessage, { role: 'tool' }>): ModelMessage {
  return {
    role: 'tool',
    content: message.content.map((part) =>
      part.type === 'tool-result' ? { ...part, output: { type: 'text', value: LEFT_OUT } } : part,
    ),
  };
}

/** Returns the size of a message's JSON in bytes, at most: a UTF-16 unit takes up to three bytes in UTF-8. */
function sizeOf(message: ModelMessage): number {
  const json = JSON.stringify(message);
  let size = json.length;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code > 0x7ff) size += 2;
    else if (code > 0x7f) size += 1;
  }
  return size;
}
