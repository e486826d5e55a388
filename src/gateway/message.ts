import type { PushedMessages } from '../domain/channel/channel.ts';

/**
 * A message to many clients. Each form is encoded once, on first use. Socket.IO clients get an event with that name,
 * plain clients a JSON object with that `type`.
 */
export class Message {
  readonly #name: keyof PushedMessages;
  readonly #body: PushedMessages[keyof PushedMessages];
  #socketIo: string | null = null;
  #plain: Buffer | null = null;

  private constructor(name: keyof PushedMessages, body: PushedMessages[keyof PushedMessages]) {
    this.#name = name;
    this.#body = body;
  }

  static of<Name extends keyof PushedMessages>(name: Name, body: PushedMessages[Name]): Message {
    return new Message(name, body);
  }

  /** A packet of the Socket.IO protocol, revision 5: type EVENT in the default namespace. */
  get socketIo(): string {
    this.#socketIo ??= `2${JSON.stringify([this.#name, this.#body])}`;
    return this.#socketIo;
  }

  /** The text of a plain WebSocket message, in UTF-8. */
  get plainBytes(): Buffer {
    this.#plain ??= Buffer.from(
      JSON.stringify(
        this.#name === 'event' ? { type: 'event', event: this.#body } : { type: this.#name, ...this.#body },
      ),
    );
    return this.#plain;
  }
}
