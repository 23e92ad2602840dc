import type { Oracle } from './oracle.ts'

export const audit: Oracle = {
  name: 'audit',
  promise: 'The audit has nothing to say at any moment, requests under way or not.',
  *judge({ stage }) {
    for (const { when, problem, at } of stage.findings) {
      const general = problem.replaceAll(/\b(?:req|key|gateway)_\w+(?:\.u)?/g, '…').replaceAll(/\d+/g, '#')
      yield [`${general} (${when})`, `${problem} at ${(at / 1_000).toFixed(1)} s`]
    }
  },
}
