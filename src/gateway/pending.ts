/** Counts the bytes that were sent to a connection and not received yet. */
export class Pending {
  #bytes = 0;
  #listeners: (() => void)[] = [];

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds sent bytes. Returns a function to call when they are received. */
  add(bytes: number): () => void {
    this.#bytes += bytes;
    return () => {
      this.#bytes -= bytes;
      if (this.#bytes > 0) return;
      const listeners = this.#listeners;
      this.#listeners = [];
      for (const listener of listeners) listener();
    };
  }

  onceDrained(listener: () => void): void {
    if (this.#bytes <= 0) listener();
    else this.#listeners.push(listener);
  }
}
