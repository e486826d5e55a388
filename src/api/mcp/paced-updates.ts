/** Notifications of one stream that wait to be read, at most. */
const MAX_UNREAD = 100;

/**
 * Publishes changes of resources as fast as the client reads: the SDK stores notifications for a client that does not read. A
 * resource that changes again before its change was published is published once.
 */
export class PacedUpdates {
  readonly #publish: (uri: string) => void;
  readonly #waiting = new Set<string>();
  #unread = 0;

  constructor(publish: (uri: string) => void) {
    this.#publish = publish;
  }

  /** Publishes changes now, or after the client has read. */
  add(uris: readonly string[]): void {
    for (const uri of uris) this.#waiting.add(uri);
    this.#proceed();
  }

  /** Returns the response, and follows how much of it the client reads. */
  follow(response: Response): Response {
    if (!response.body) return response;
    const read = () => this.#read();
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      // Called when the reader is ready for the next message.
      transform(message, controller) {
        controller.enqueue(message);
        read();
      },
    });
    return new Response(response.body.pipeThrough(counted), response);
  }

  #read(): void {
    // The stream also has messages that were not published here.
    this.#unread = Math.max(0, this.#unread - 1);
    this.#proceed();
  }

  #proceed(): void {
    for (const uri of this.#waiting) {
      if (this.#unread >= MAX_UNREAD) return;
      this.#waiting.delete(uri);
      this.#unread += 1;
      this.#publish(uri);
    }
  }
}
