import type { Model, ModelList } from './shapes.ts'
import { useLoad } from './load.ts'

const none: readonly Model[] = []

/** The models there are; none until they are known, or when they cannot be had. */
export function useModels(): readonly Model[] {
  return useLoad<ModelList>('/models').value?.models ?? none
}
