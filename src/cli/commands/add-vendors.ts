import { constants } from 'node:fs'
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadConfig, type Merged, mergeRecipes, type Recipe } from '../../index.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { replaceConfig } from '../replace-config.ts'
import { showFindings } from '../show-findings.ts'
import { describeVariable } from './recipes.ts'

const backupsMax = 100

/** Adds recipes to the configuration of a folder; the old file is kept as a backup. @throws Exit when that fails */
export async function addVendors(folder: string, recipes: readonly Recipe[]): Promise<void> {
  const file = join(folder, 'gateway.yaml')
  const text = await readFile(file, 'utf8')
  const { text: merged, added, left } = await merge(file, text, recipes)
  for (const path of left) say(`kept       ${path}: it already exists`)
  if (added.length === 0) return say(`${file} is already up to date; nothing was written`)
  await refuseInvalid(file, text, merged, recipes)
  const backup = await keep(file)
  await replaceConfig(file, merged)
  for (const path of added) say(`added      ${path}`)
  say(`updated ${file}; backup: ${backup}`)
  reportNeeds(recipes)
  await reportLacking(join(folder, '.env.example'), recipes)
}

/** Operators may have changed .env.example: missing variables are reported, and the file is not changed. */
async function reportLacking(file: string, recipes: readonly Recipe[]): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return
  const named = new Set(text.match(/(?<!\w)\w+(?=\s*=)/g))
  const lacking = recipes.flatMap(({ variables }) => variables).filter(({ name }) => !named.has(name))
  const names = new Set(lacking.map(({ name }) => name))
  if (names.size > 0) say(`missing    add ${[...names].join(', ')} to ${file}`)
}

/** Prints the variables that an operator sets before a real vendor is used. */
export function reportNeeds(recipes: readonly Recipe[]): void {
  const needs = new Map(recipes.flatMap(({ variables }) => variables).map(one => [one.name, one]))
  for (const one of needs.values()) say(`set        ${describeVariable(one)}`)
}

/** Placeholders for required variables, so that the rest can be checked before they are set. */
export function standIns(recipes: readonly Recipe[]): { readonly [name: string]: string } {
  const required = recipes.flatMap(({ variables }) => variables).filter(({ required }) => required)
  return Object.fromEntries(
    required.map(({ name }) => [name, /URL|ENDPOINT|HOST/.test(name) ? 'https://vendor.example' : 'x']),
  )
}

async function merge(file: string, text: string, recipes: readonly Recipe[]): Promise<Merged> {
  try {
    return await mergeRecipes(text, recipes)
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'MergeError') throw error
    throw new Exit(
      exitCodes.failure,
      `${file}: ${error.message}. Nothing was written; tollgate recipes NAME prints the lines`,
    )
  }
}

/** Refuses an invalid file, and an addition that makes a file invalid. */
async function refuseInvalid(file: string, before: string, after: string, recipes: readonly Recipe[]): Promise<void> {
  const env = { ...standIns(recipes), ...process.env }
  const loaded = await loadConfig({ file, text: after }, env)
  if (loaded.ok) return
  const was = await loadConfig({ file, text: before }, env)
  const why = was.ok ? 'the result would be invalid' : 'it is invalid'
  throw new Exit(
    exitCodes.configInvalid,
    `${await showFindings(was.ok ? loaded.findings : was.findings)}\n${file}: ${why}, so nothing was written`,
  )
}

/** Copies the file to the first of these names that is free. */
async function keep(file: string): Promise<string> {
  for (let i = 1; i < backupsMax; i++) {
    const name = i === 1 ? `${file}.bak` : `${file}.bak-${i}`
    try {
      await copyFile(file, name, constants.COPYFILE_EXCL)
      return name
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  throw new Exit(exitCodes.failure, `${file} has ${backupsMax} backups already; delete some. Nothing was written`)
}
