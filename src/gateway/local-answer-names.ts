/** What `serve:` of a route may name. */
export const localAnswerNames = ['models', 'model', 'charge', 'job'] as const
