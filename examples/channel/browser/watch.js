/*
 * Watches a run on the live channel with the browser's own WebSocket. The page makes no other requests, so it also works
 * when it is opened as a file.
 *
 * The same with Socket.IO's client, which adds long polling and reconnection:
 *
 *   const socket = io(address, { path: '/ws', query: { token } });
 *   socket.on('connect', () => socket.emit('join', { room, after: seq }, (answer) => …));
 *   socket.on('event', (event) => …);
 *   socket.on('connect_error', (error) => …);   // error.message is the code, for example token_expired
 */
'use strict';

const LONGEST_WAIT_MS = 10_000;
/** Codes after which a retry with the same token fails again. */
const FINAL_CODES = ['token_invalid', 'token_expired', 'forbidden', 'invalid_room', 'invalid_message'];

const part = (id) => document.getElementById(id);
/** The watched run: { address, token, id, seq, waitMs, socket, steps }. `seq` is that of the last event shown. */
let watched = null;

document.querySelector('form').addEventListener('submit', (submission) => {
  submission.preventDefault();
  const [address, token, id] = ['address', 'token', 'execution'].map((name) => part(name).value.trim());
  watched?.socket.close();
  if (watched?.id !== id || watched.address !== address) begin(address, id);
  // With a new token for the same run, the page continues after the last event.
  Object.assign(watched, { token, waitMs: 500 });
  connect(watched);
});

function begin(address, id) {
  watched = { address, id, seq: 0, steps: new Map() };
  for (const name of ['steps', 'events', 'end']) part(name).replaceChildren();
  part('state').value = '–';
}

function connect(run) {
  const url = new URL('/ws', run.address.replace(/^http/, 'ws'));
  url.searchParams.set('token', run.token);
  const socket = new WebSocket(url);
  let code = '';
  run.socket = socket;
  tell('connecting …');
  socket.addEventListener('open', () => {
    // Requests all events after the last one that was shown, so none is missed or repeated.
    socket.send(JSON.stringify({ type: 'join', room: `workflow:${run.id}`, after: run.seq }));
  });
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data);
    if (socket !== watched.socket) return;
    if (message.type === 'joined') {
      run.waitMs = 500;
      tell('live');
    } else if (message.type === 'event') show(run, message.event);
    else if (message.type === 'closed') code = message.code;
    else if (message.type === 'refused') {
      code = message.code;
      socket.close();
    }
  });
  socket.addEventListener('close', ({ reason }) => {
    // A page cannot see why an upgrade was rejected. Usually, the token has expired.
    if (socket !== watched.socket) return;
    if (run.isOver) return tell('closed');
    code ||= reason;
    if (FINAL_CODES.includes(code)) return tell(`ended: ${code}. Paste a new token to continue.`);
    tell(`lost${code && ` (${code})`}; retrying. Check that the server is running and the token is valid.`);
    setTimeout(() => socket === watched.socket && connect(run), run.waitMs);
    run.waitMs = Math.min(2 * run.waitMs, LONGEST_WAIT_MS);
  });
}

function show(run, event) {
  run.seq = event.seq;
  const { type, data } = event;
  const line = document.createElement('li');
  line.value = event.seq;
  line.textContent = `${event.at}  ${type}  ${data.step?.name ?? data.to ?? data.state ?? data.outcome ?? ''}`;
  part('events').append(line);
  line.scrollIntoView({ block: 'nearest' });

  if (type === 'state.changed') part('state').value = data.to;
  for (const { id, name, agent } of data.steps ?? []) set(run, id, { name, agent, status: 'pending' });
  const { step } = data;
  if (type === 'step.started') set(run, step.id, { ...step, status: 'running', percent: 0, words: '' });
  if (type === 'step.progress') set(run, step.id, { percent: data.percent });
  if (type === 'step.completed') set(run, step.id, { status: 'completed', percent: 100 });
  if (type === 'step.failed') {
    const status = data.retry_in_ms === null ? 'failed' : 'failed, will be retried';
    set(run, step.id, { status, words: data.error.message });
  }
  if (type === 'agent.message') set(run, step.id, { words: data.text });
  if (type === 'escalation.requested') set(run, step.id, { words: `escalated: ${data.reason}` });
  if (type === 'run.ended') end(run, `The run has ended: ${data.state}, after ${data.duration_ms} ms.`);
  if (type === 'callback.attempted') {
    const more = data.next_attempt_at === null ? '' : `, again at ${data.next_attempt_at}`;
    end(run, `Callback, attempt ${data.attempt}: ${data.outcome}${more}.`, data.next_attempt_at === null);
  }
}

/** The events do not say whether a callback follows, so the connection stays open. */
function end(run, sentence, isOver = true) {
  run.isOver = isOver;
  part('end').append(sentence, ' ');
}

/** Updates a step and its row. */
function set(run, id, fields) {
  const step = run.steps.get(id) ?? { row: part('steps').insertRow() };
  run.steps.set(id, Object.assign(step, fields));
  const bar = Object.assign(document.createElement('progress'), { max: 100, value: step.percent ?? 0 });
  step.row.replaceChildren();
  // Always as text, never as HTML: agents can write anything.
  for (const content of [step.name, step.agent, step.status, bar, step.words ?? '']) {
    step.row.insertCell().append(content);
  }
}

function tell(sentence) {
  part('connection').value = sentence;
}
