import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const need = name => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: npm run test:clients sets it`)
  return value
}

export const url = need('GATEWAY_URL')
export const key = need('GATEWAY_KEY')
export const spentKey = need('GATEWAY_SPENT_KEY')
export const picture = readFileSync(need('GATEWAY_PICTURE'))
export const mask = readFileSync(need('GATEWAY_MASK'))
export const sound = readFileSync(need('GATEWAY_SOUND'))
export const said = 'simulated answer to: a red boat'

/** A function that makes calls with one client, and prints each as a JSON line. @param name of the package */
export function caller(name) {
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dirname, 'node_modules', name, 'package.json')).toString(),
  )
  return async (call, run) => {
    const line = { client: name, version, call, ok: true }
    try {
      await run()
    } catch (error) {
      line.ok = false
      line.error = textOf(error)
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  }
}

function textOf(error) {
  const cause = error?.cause === undefined ? '' : ` (${textOf(error.cause)})`
  return `${error?.name}: ${error?.message} ${error?.responseBody ?? ''}`.trim() + cause
}

/** @throws with both values when they are not the same as JSON */
export function same(found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`expected ${JSON.stringify(wanted)} but got ${JSON.stringify(found)?.slice(0, 500)}`)
}

export function truthy(value, what) {
  if (!value) throw new Error(`${what}, but it was ${JSON.stringify(value)?.slice(0, 500)}`)
}

/** Returns the error of a call. @throws when the call succeeds */
export async function caught(run) {
  try {
    await run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

export async function collect(stream) {
  const all = []
  for await (const one of stream) all.push(one)
  return all
}
