import { createSocket } from 'node:dgram';
import { once } from 'node:events';

type Family = 'A' | 'AAAA';

/** The response for a name: addresses, an unknown name, a failure of the server, or no response. */
export type NameAnswer = readonly string[] | 'unknown' | 'failing' | 'silent';

/** A DNS server over UDP with configurable responses. */
export type NameServer = {
  /** The value for `servers` of `createLookup`. */
  address: string;
  /** Questions so far, for example `A receiver.test`. */
  questions: readonly string[];
  /** Sets the response for a name from now on; all other names are `unknown`. */
  setAddresses(name: string, ipv4: NameAnswer, ipv6?: NameAnswer): void;
  close(): Promise<void>;
};

const TYPES: Readonly<Record<number, Family>> = { 1: 'A', 28: 'AAAA' };
const HEADER_BYTES = 12;
const NAME_UNKNOWN = 3;
const SERVER_FAILURE = 2;
const TTL_S = 300;

export async function startNameServer(): Promise<NameServer> {
  const known = new Map<string, NameAnswer>();
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, sender) => {
    const { name, type, end } = questionOf(query);
    const question = `${TYPES[type] ?? type} ${name}`;
    questions.push(question);
    const answer = known.get(question) ?? 'unknown';
    if (answer !== 'silent') socket.send(reply(query.subarray(0, end), type, answer), sender.port);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    setAddresses(name, ipv4, ipv6 = []) {
      known.set(`A ${name}`, ipv4);
      known.set(`AAAA ${name}`, ipv6);
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Returns a message with the question and the answer (RFC 1035, 4.1). */
function reply(question: Buffer, type: number, answer: Exclude<NameAnswer, 'silent'>): Buffer {
  const addresses = typeof answer === 'string' ? [] : answer;
  const code = answer === 'unknown' ? NAME_UNKNOWN : answer === 'failing' ? SERVER_FAILURE : 0;
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...addresses.map((address) => record(type, bytesOf(address)))]);
}

function record(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc0_00 | HEADER_BYTES, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(TTL_S, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function bytesOf(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const words = (text: string) => text.split(':').filter((word) => word !== '');
  const [first, last] = [words(head), words(tail)];
  const middle = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.from([...first, ...middle, ...last].map((word) => word.padStart(4, '0')).join(''), 'hex');
}
