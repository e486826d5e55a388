/** One way to a task's events gave out, while the service may be well. */
export class WayFailed extends Error {
  override name = 'WayFailed';
  /** True where it will never work here. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false) {
    super(message);
    this.isFinal = isFinal;
  }
}
