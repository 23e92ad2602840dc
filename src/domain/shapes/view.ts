import type { Members, Values } from './member.ts'

/** A member of a view: its schema, and its value for an object. */
type ViewMember<From> = { readonly schema: object; readonly of: (from: From) => unknown }
type ViewMembers<From> = { readonly [name: string]: ViewMember<From> }

type Shown<M extends ViewMembers<never>> = { readonly [N in keyof M]: ReturnType<M[N]['of']> }

type ViewSchema<M extends ViewMembers<never>> = {
  readonly type: 'object'
  readonly additionalProperties: false
  readonly required: readonly (keyof M & string)[]
  readonly properties: { readonly [N in keyof M]: M[N]['schema'] }
}

/** The JSON form of an object: its schema, and the function that creates it. */
export type View<From, M extends ViewMembers<never>> = {
  readonly schema: ViewSchema<M>
  readonly names: readonly (keyof M & string)[]
  readonly show: (from: From) => Shown<M>
}

/** Creates a view from its members, in their order. */
export function viewOf<From>() {
  return <const M extends ViewMembers<From>>(members: M): View<From, M> => {
    const all = Object.entries<ViewMember<From>>(members)
    const properties = Object.fromEntries(all.map(([name, { schema }]) => [name, schema]))
    const names = all.map(([name]) => name)
    return {
      schema: { type: 'object', additionalProperties: false, required: names, properties } as unknown as ViewSchema<M>,
      names,
      show(from) {
        const shown: { [name: string]: unknown } = {}
        for (const [name, { of }] of all) shown[name] = of(from)
        return shown as Shown<M>
      },
    }
  }
}

/** Creates view members for stored members; `thing` finds the object that has them. */
export function shownOf<M extends Members, From>(members: M, thing: (from: From) => Values<M>) {
  return <const N extends keyof M>(name: N, description?: string) => {
    const { schema, show } = members[name] as M[N]
    return {
      schema: (description === undefined ? schema : { ...schema, description }) as M[N]['schema'],
      of: (from: From) => show(thing(from)[name] as never) as ReturnType<M[N]['show']>,
    }
  }
}

/** Creates a view member whose value is computed. */
export function computed<const S extends object, From, Value>(schema: S, of: (from: From) => Value) {
  return { schema, of }
}
