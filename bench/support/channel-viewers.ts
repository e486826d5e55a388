import WebSocket from 'ws';

/*
 * Viewers of the live channel in a separate process, so that they do not share an event loop with the measured code.
 * Messages control them. Times are of this machine's monotonic clock, which all processes share.
 */

export type Protocol = 'plain' | 'socket.io';

/** A command to the viewers. */
export type ViewerCommand =
  /** Opens `count` connections, which join the runs in turn. */
  | { do: 'open'; url: string; token: string; runs: string[]; count: number; protocol: Protocol }
  /** Reports the events since the last report. */
  | { do: 'report' }
  | { do: 'close' };

/** The response to a command. */
export type ViewerReport =
  | { open: number }
  | {
      /** Events over all connections. */
      received: number;
      /** Milliseconds from the write to the arrival of each event. */
      latencies: number[];
      /** Missing, repeated and misordered events, and connections that ended. */
      errors: number;
    }
  | { closed: true };

/** Returns a text that begins with the current time in nanoseconds. */
export function createTimedText(bytes: number): string {
  return `${process.hrtime.bigint()} `.padEnd(bytes, '.');
}

const OPEN_CONCURRENCY = 50;
const SEQ = /"seq":(\d+)/;
const WRITTEN = /"text":"(\d+) /;

const sockets = new Set<WebSocket>();
let latencies: number[] = [];
let received = 0;
let errors = 0;
let isClosing = false;

function open(command: Extract<ViewerCommand, { do: 'open' }>, number: number): Promise<void> {
  const { protocol, token, runs } = command;
  const query = protocol === 'plain' ? `token=${token}` : `EIO=4&transport=websocket&token=${token}`;
  const socket = new WebSocket(`${command.url.replace('http', 'ws')}/ws?${query}`, {
    perMessageDeflate: false,
  });
  sockets.add(socket);
  const room = `workflow:${runs[number % runs.length]}`;
  let last = 0;
  socket.on('close', () => {
    if (!isClosing) errors += 1;
  });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () =>
      socket.send(protocol === 'plain' ? JSON.stringify({ type: 'join', room }) : '40'),
    );
    socket.on('message', (data: Buffer) => {
      const at = process.hrtime.bigint();
      const text = data.toString('latin1');
      const [, written] = WRITTEN.exec(text) ?? [];
      if (written !== undefined) {
        const seq = Number(SEQ.exec(text)?.[1]);
        if (seq !== last + 1) errors += 1;
        last = seq;
        received += 1;
        latencies.push(Number(at - BigInt(written)) / 1e6);
      } else if (text.startsWith('40')) socket.send(`420["join",${JSON.stringify({ room })}]`);
      else if (text === '2') socket.send('3');
      else if (text.includes('"snapshot"')) {
        last = Number(/"last_seq":(\d+)\D*$/.exec(text)?.[1]);
        resolve();
      } else if (!text.startsWith('0')) reject(new Error(text.slice(0, 200)));
    });
  });
}

async function openAll(command: Extract<ViewerCommand, { do: 'open' }>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < command.count) await open(command, next++);
  };
  isClosing = false;
  await Promise.all(Array.from({ length: OPEN_CONCURRENCY }, lane));
}

async function closeAll(): Promise<void> {
  isClosing = true;
  const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const socket of sockets) socket.close();
  await Promise.all(closed);
  sockets.clear();
}

async function execute(command: ViewerCommand): Promise<ViewerReport> {
  if (command.do === 'open') {
    await openAll(command);
    return { open: sockets.size };
  }
  if (command.do === 'close') {
    await closeAll();
    return { closed: true };
  }
  const report = { received, latencies: latencies, errors: errors };
  [received, latencies, errors] = [0, [], 0];
  return report;
}

if (import.meta.main) {
  process.on('message', (order: ViewerCommand) => {
    execute(order).then(
      (report) => process.send?.(report),
      (error: Error) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.send?.({ open: 0 } satisfies ViewerReport);
}
