/** A transport of a task's events failed. The service itself may still be reachable. */
export class TransportFailed extends Error {
  override name = 'TransportFailed';
  /** True if the transport cannot work here at all, so that a retry is useless. */
  readonly isPermanent: boolean;

  constructor(message: string, isPermanent = false) {
    super(message);
    this.isPermanent = isPermanent;
  }
}
