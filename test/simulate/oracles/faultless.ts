import type { Oracle } from './oracle.ts'

/** The gateway's log messages about faults of its machine. */
const expected = [
  'the storage cannot be written; billable requests are refused',
  'the storage writer failed',
  'a charge could not be closed; recovery will close it',
  'a hold could not be released yet',
  'an upstream key was refused and is suspended until it works again',
  'a charge could not be left for review; it is charged as estimated',
  'the storage closes with rows that could not be written',
  'a charge is not known to be written',
  'drain timeout: aborting the remaining requests',
]

export const faultless: Oracle = {
  name: 'faultless',
  promise: 'No fault of the program itself is logged, and none is left to nobody.',
  *judge({ stage }) {
    for (const fault of stage.unhandled) yield ['a fault that nobody handled', fault.slice(0, 600)]
    for (const { text, facts } of stage.lives.errors)
      if (!expected.includes(text)) yield [`logged: ${text.replaceAll(/\d+/g, '#')}`, facts]
  },
}
