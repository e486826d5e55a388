import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import typeIs from 'type-is';
