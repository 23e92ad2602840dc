import { mayHaveAnswers } from '../../index.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { actor, withStorage } from '../with-storage.ts'

type Options = {
  readonly config: string
  readonly model?: string
  readonly key?: string
  readonly reason?: string
}

/** Purges cached responses: every gateway on the storage stops using them within a second. */
export async function purgeCache({ config, model, key: keyId, reason }: Options): Promise<void> {
  await withStorage(config, async (storage, plan) => {
    if (model !== undefined && !(await mayHaveAnswers(model, plan, storage.journal)))
      throw new Exit(exitCodes.failure, `there is no model '${model}' in ${config} or the log (tollgate models list)`)
    if (keyId !== undefined && !(await storage.keys.find(keyId)))
      throw new Exit(exitCodes.failure, `there is no key '${keyId}' (tollgate keys list)`)
    const scope = { ...(model !== undefined && { model }), ...(keyId !== undefined && { keyId }) }
    await storage.answers.add(scope, actor, reason ?? null)
    const which = [
      ...(model === undefined ? [] : [`of '${model}'`]),
      ...(keyId === undefined ? [] : [`of key '${keyId}'`]),
    ]
    say(`Cached responses ${which.join(' ') || 'of all models'} are not used any more.`)
  })
}
