import { formatMoney, type Group, modelsBarred, type User } from '../index.ts'
import { limitKinds, type SettingOptions } from './key-settings.ts'

/** The changed settings of a user: a sentence for each. */
export function describeBounds(
  { name, keyBounds, keysMax }: Pick<User, 'name' | 'keyBounds' | 'keysMax'>,
  told: SettingOptions & { readonly keysMax?: string },
): readonly string[] {
  const { models, ips, limits, budget, expiresAt } = keyBounds
  const of = `Keys that ${name} makes`
  const said: string[] = []
  if (told.models !== undefined)
    said.push(models ? `${of} may use ${models.to.join(', ')}.` : `${of} are bound to no models.`)
  if (told.ips !== undefined)
    said.push(ips ? `${of} are taken from ${ips.to.join(', ')} alone.` : `${of} are bound to no addresses.`)
  if (told.rpm !== undefined || told.tpm !== undefined || told.concurrency !== undefined) {
    const most = limitKinds.flatMap(kind => {
      const count = limits?.to[kind]
      return count === undefined ? [] : [`${kind} ${count}`]
    })
    said.push(most.length > 0 ? `${of} may have ${most.join(', ')} at most.` : `${of} are bound to no limits.`)
  }
  if (told.budget !== undefined || told.budgetPeriod !== undefined)
    said.push(
      budget
        ? `${of} may have a budget of ${formatMoney(budget.to.amount)} (${budget.to.per}) at most, each of them.`
        : `${of} are bound to no budget.`,
    )
  if (told.expires !== undefined)
    said.push(expiresAt ? `${of} end at ${new Date(expiresAt.to).toISOString()} at the latest.` : `${of} need not end.`)
  if (told.keysMax !== undefined)
    said.push(
      keysMax === null
        ? `${name} may make as many keys as the group says.`
        : `${name} may have ${keysMax} keys at most.`,
    )
  return said
}

/** A group of the configuration, as the command line names it. */
export type NamedGroup = { readonly name: string } & Pick<Group, 'models'>

/** Of the models that a key names those that its group does not allow, in a sentence; undefined when there is none. */
export function tellBarred(models: readonly string[] | null, group: NamedGroup | undefined): string | undefined {
  const barred = modelsBarred(models, group)
  if (!group || barred.length === 0) return undefined
  return `${barred.join(', ')} ${barred.length === 1 ? 'is' : 'are'} not among the models of group ${group.name}.`
}

/** Which models a key may use, what its group takes away of them, and what does not bound it. */
export function tellModels(
  models: readonly string[] | null,
  user: Pick<User, 'name' | 'keyBounds'> | undefined,
  group?: NamedGroup,
): string {
  const may = tellMay(models, group)
  const bound = user?.keyBounds.models
  return bound
    ? `${may} Only keys that ${user.name} makes are bound to ${bound.to.join(', ')}: --models binds this one.`
    : may
}

function tellMay(models: readonly string[] | null, group: NamedGroup | undefined): string {
  if (!models) return 'It may use every model that its group may.'
  const barred = tellBarred(models, group)
  if (barred === undefined) return `It may use ${models.join(', ')}.`
  const left = models.filter(model => !modelsBarred(models, group).includes(model))
  return `It may use ${left.join(', ') || 'no model'}; ${barred}`
}
