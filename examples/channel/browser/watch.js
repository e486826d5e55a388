/*
 * Watches a run on the live channel with the browser's own WebSocket. Nothing is fetched, so the page works wherever
 * it lies, opened from the disk as well.
 *
 * The same with Socket.IO's client, where its long polling or its reconnecting is wanted:
 *
 *   const socket = io(address, { path: '/ws', query: { token } });
 *   socket.on('connect', () => socket.emit('join', { room, after: seq }, (answer) => …));
 *   socket.on('event', (event) => …);
 *   socket.on('connect_error', (error) => …);   // error.message is the code, for example token_expired
 */
'use strict';

const LONGEST_WAIT_MS = 10_000;
/** What does not get better by trying again with the same words. */
const FINAL_CODES = ['token_invalid', 'token_expired', 'forbidden', 'invalid_room', 'invalid_message'];

const part = (id) => document.getElementById(id);
/** The run that is watched: { address, token, id, seq, waitMs, socket, steps }, `seq` that of the last event shown. */
let watched = null;

document.querySelector('form').addEventListener('submit', (submission) => {
  submission.preventDefault();
  const [address, token, id] = ['address', 'token', 'execution'].map((name) => part(name).value.trim());
  watched?.socket.close();
  if (watched?.id !== id || watched.address !== address) begin(address, id);
  // A newer token goes on where the last one ended.
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
    // Everything behind the last event that was shown: nothing is missed, nothing comes twice.
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
    // A page cannot see why an upgrade was refused; that its token is too old is the usual reason.
    if (socket !== watched.socket) return;
    if (run.isOver) return tell('closed');
    code ||= reason;
    if (FINAL_CODES.includes(code)) return tell(`ended: ${code}. With another token it goes on here.`);
    tell(`lost${code && ` (${code})`}; trying again. Is the server there, and the token still good?`);
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
    const status = data.retry_in_ms === null ? 'failed' : 'failed, will be tried again';
    set(run, step.id, { status, words: data.error.message });
  }
  if (type === 'agent.message') set(run, step.id, { words: data.text });
  if (type === 'escalation.requested') set(run, step.id, { words: `asks for a human: ${data.reason}` });
  if (type === 'run.ended') end(run, `The run has ended: ${data.state}, after ${data.duration_ms} ms.`);
  if (type === 'callback.attempted') {
    const more = data.next_attempt_at === null ? '' : `, again at ${data.next_attempt_at}`;
    end(run, `Callback, attempt ${data.attempt}: ${data.outcome}${more}.`, data.next_attempt_at === null);
  }
}

/** Whether a callback follows is not in the events, so the connection stays for as long as it lives. */
function end(run, sentence, isOver = true) {
  run.isOver = isOver;
  part('end').append(sentence, ' ');
}

/** Changes what is known of a step, and draws its row. */
function set(run, id, fields) {
  const step = run.steps.get(id) ?? { row: part('steps').insertRow() };
  run.steps.set(id, Object.assign(step, fields));
  const bar = Object.assign(document.createElement('progress'), { max: 100, value: step.percent ?? 0 });
  step.row.replaceChildren();
  // As text, never as HTML: agents may write anything.
  for (const content of [step.name, step.agent, step.status, bar, step.words ?? '']) {
    step.row.insertCell().append(content);
  }
}

function tell(sentence) {
  part('connection').value = sentence;
}
