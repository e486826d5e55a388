/* Watches a run on the live channel: BATON_API_KEY=… node watch.mjs <execution-id> (BATON_URL: the server) */
import { io } from 'socket.io-client';

const { BATON_URL: base = 'http://localhost:3000', BATON_API_KEY: key = '' } = process.env;
const [id] = process.argv.slice(2);
let seq = 0;

const socket = io(base, { path: '/ws', autoConnect: false, reconnection: false });
socket.on('connect', () => socket.emit('join', { room: `workflow:${id}`, after: seq }, joined));
socket.on('event', show);
socket.on('disconnect', () => setTimeout(() => void connect(), 500));
socket.on('connect_error', () => setTimeout(() => void connect(), 1_000));
await connect();

/** Creates a token for each connection, so that it has not expired. */
async function connect() {
  try {
    const { token } = await api('POST', '/api/v1/tokens');
    socket.io.opts.query = { token };
    socket.connect();
  } catch (error) {
    console.error(error.message);
    setTimeout(() => void connect(), 1_000);
  }
}

function joined(answer) {
  if (!answer.ok) fail(`${answer.code}: ${answer.message}`);
  void endIfOver();
}

function show(event) {
  seq = event.seq;
  console.log(event.seq, event.at, event.type, JSON.stringify(event.data));
  // One of these is the last event. The events do not say whether a callback follows.
  if (event.type === 'run.ended' || event.type === 'callback.attempted') void endIfOver();
}

async function endIfOver() {
  const run = await api('GET', `/api/v1/tasks/${id}`).catch(() => null);
  const hasEnded = ['completed', 'failed', 'cancelled', 'escalated'].includes(run?.state);
  if (hasEnded && run.callback.status !== 'pending' && run.last_seq <= seq) process.exit(0);
}

async function api(method, path) {
  const response = await fetch(base + path, { method, headers: { 'X-API-Key': key } });
  const answer = await response.json();
  // A retry cannot help after 4xx. After 5xx, it can.
  if (response.status >= 400 && response.status < 500) fail(answer.detail);
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
