export { Engine, type EngineParts, type LocalAnswer, type Running } from './engine.ts'
export { Pipeline, type Step } from './pipeline.ts'
export { Router } from './router.ts'
