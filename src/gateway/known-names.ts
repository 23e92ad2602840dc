import { isConsolePath } from './console-listener.ts'
import { apiFormats } from '../api-formats/index.ts'
import { operationTraits } from '../operations/index.ts'
import { simulatorNames } from '../simulator/names.ts'

/** Valid values of `serve:` of a route. */
const localAnswerNames = ['models', 'model', 'charge', 'job', 'objects', 'client-secret'] as const

/** Names that a configuration may use without defining them, in this version. */
export const knownNames = {
  dialects: [...apiFormats.keys()],
  answers: localAnswerNames,
  operations: operationTraits,
  simulators: simulatorNames,
  storages: ['sqlite', 'postgres', 'postgresql'],
  counters: ['memory', 'redis', 'rediss'],
  isConsolePath,
}
