import type { Model, ModelList } from './shapes.ts'
import { useLoad } from './load.ts'

const none: readonly Model[] = []

/** The models; empty until they are loaded, or if that failed. */
export function useModels(): readonly Model[] {
  return useLoad<ModelList>('/models').value?.models ?? none
}
