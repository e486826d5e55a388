/** Counts what was handed to a connection and is not taken yet, in bytes. */
export class Pending {
  #bytes = 0;
  #listeners: (() => void)[] = [];

  get bytes(): number {
    return this.#bytes;
  }

  /** Notes that so much was handed over; the answer is to be called when it is taken. */
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
