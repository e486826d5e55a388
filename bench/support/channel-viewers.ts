import WebSocket from 'ws';

/*
 * Viewers of the live channel in a process of their own, so that they share no event loop with what is measured. They
 * are told what to do by messages, and take each event at the moment it comes. Times are this machine's monotonic
 * clock, which is one for all processes.
 */

export type Speech = 'plain' | 'socket.io';

/** What the viewers are told. */
export type Order =
  /** Opens so many connections; the first joins the first run, the second the second, and round again. */
  | { do: 'open'; url: string; token: string; runs: string[]; count: number; speech: Speech }
  /** Tells what has come since the last look. */
  | { do: 'look' }
  | { do: 'close' };

/** What they tell. */
export type Report =
  | { open: number }
  | {
      /** Events that came, over all connections. */
      received: number;
      /** Milliseconds from the write to the arrival, of each. */
      lags: number[];
      /** Events that were left out, came twice or came out of order; connections that ended. */
      faults: number;
    }
  | { closed: true };

/** An event's text begins with the nanoseconds at which it was written. */
export function textWrittenNow(bytes: number): string {
  return `${process.hrtime.bigint()} `.padEnd(bytes, '.');
}

const OPENING_AT_ONCE = 50;
const SEQ = /"seq":(\d+)/;
const WRITTEN = /"text":"(\d+) /;

const sockets = new Set<WebSocket>();
let lags: number[] = [];
let received = 0;
let faults = 0;
let isClosing = false;

function open(order: Extract<Order, { do: 'open' }>, number: number): Promise<void> {
  const { speech, token, runs } = order;
  const query = speech === 'plain' ? `token=${token}` : `EIO=4&transport=websocket&token=${token}`;
  const socket = new WebSocket(`${order.url.replace('http', 'ws')}/ws?${query}`, {
    perMessageDeflate: false,
  });
  sockets.add(socket);
  const room = `workflow:${runs[number % runs.length]}`;
  let last = 0;
  socket.on('close', () => {
    if (!isClosing) faults += 1;
  });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => socket.send(speech === 'plain' ? JSON.stringify({ type: 'join', room }) : '40'));
    socket.on('message', (data: Buffer) => {
      const at = process.hrtime.bigint();
      const text = data.toString('latin1');
      const [, written] = WRITTEN.exec(text) ?? [];
      if (written !== undefined) {
        const seq = Number(SEQ.exec(text)?.[1]);
        if (seq !== last + 1) faults += 1;
        last = seq;
        received += 1;
        lags.push(Number(at - BigInt(written)) / 1e6);
      } else if (text.startsWith('40')) socket.send(`420["join",${JSON.stringify({ room })}]`);
      else if (text === '2') socket.send('3');
      else if (text.includes('"snapshot"')) {
        last = Number(/"last_seq":(\d+)\D*$/.exec(text)?.[1]);
        resolve();
      } else if (!text.startsWith('0')) reject(new Error(text.slice(0, 200)));
    });
  });
}

async function openAll(order: Extract<Order, { do: 'open' }>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < order.count) await open(order, next++);
  };
  isClosing = false;
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, lane));
}

async function closeAll(): Promise<void> {
  isClosing = true;
  const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const socket of sockets) socket.close();
  await Promise.all(closed);
  sockets.clear();
}

async function obey(order: Order): Promise<Report> {
  if (order.do === 'open') {
    await openAll(order);
    return { open: sockets.size };
  }
  if (order.do === 'close') {
    await closeAll();
    return { closed: true };
  }
  const report = { received, lags, faults };
  [received, lags, faults] = [0, [], 0];
  return report;
}

if (import.meta.main) {
  process.on('message', (order: Order) => {
    obey(order).then(
      (report) => process.send?.(report),
      (error: Error) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.send?.({ open: 0 } satisfies Report);
}
