import { describeTraces } from './described-traces.ts';

describeTraces('unencrypted', 'named-by-the-operator');
