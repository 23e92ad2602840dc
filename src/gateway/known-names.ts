import { isConsolePath } from './console-listener.ts'
import { dialects } from '../api-formats/index.ts'
import { operationTraits } from '../operations/index.ts'
import { simulatorNames } from '../simulator/names.ts'

/** What `serve:` of a route may name. */
const localAnswerNames = ['models', 'model', 'charge', 'job', 'objects', 'client-secret'] as const

/** What a configuration may name without defining it, as far as this version has it. */
export const knownNames = {
  dialects: [...dialects.keys()],
  answers: localAnswerNames,
  operations: operationTraits,
  simulators: simulatorNames,
  storages: ['sqlite', 'postgres', 'postgresql'],
  counters: ['memory', 'redis', 'rediss'],
  isConsolePath,
}
