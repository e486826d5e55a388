/* Replaces statements about mails, push notifications and documents, which are not simulated. */

export const createRunNotices = async (): Promise<void> => {};
export const claimDuePushes = async (): Promise<never[]> => [];
export const releasePush = async (): Promise<void> => {};
export const storeArtifact = (): Promise<never> => Promise.reject(new Error('there are no documents'));
