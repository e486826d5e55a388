import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { refusedDataCode } from '../database/common/outage.ts';

/** Type of the failure of an activity whose data PostgreSQL refuses. */
const REFUSED_DATA = 'RefusedData';

/**
 * Lets an activity fail permanently if PostgreSQL refuses a value: every repeat would fail in the same way, and some
 * activities are repeated without end. The failure does not contain the value.
 */
export const failOnRefusedData: ActivityInboundCallsInterceptor = {
  async execute(input, next) {
    try {
      return await next(input);
    } catch (error) {
      const code = refusedDataCode(error);
      if (code === null) throw error;
      throw ApplicationFailure.nonRetryable(`PostgreSQL refuses a value (SQLSTATE ${code})`, REFUSED_DATA);
    }
  },
};
