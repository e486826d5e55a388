import type { AttemptRecord } from './attempt-record.ts';

/** An attempt before it is made. */
export type AttemptToTrace = {
  of: 'webhook' | 'callback';
  /** Only its host is recorded: paths and queries can contain secrets. */
  url: string;
  /** Ids and kinds. */
  attributes: Readonly<Record<string, string>>;
};

/** Adds outgoing attempts to traces. */
export type Traces = {
  /** Runs the work in the trace of a `traceparent`, if there is one. */
  within<T>(traceparent: string | null, work: () => Promise<T>): Promise<T>;
  /** `headers` are added to the request. `end` takes the result; null if no attempt was made. */
  begin(attempt: AttemptToTrace): {
    headers: Record<string, string>;
    end(record: AttemptRecord | null): void;
  };
};

const NOTHING = { headers: {}, end: () => {} };

/** Used if tracing is off: adds nothing to requests. */
export const UNTRACED: Traces = {
  within: (_traceparent, work) => work(),
  begin: () => NOTHING,
};
