/**
 * Makes `instanceof` hold for instances of every copy of a class. A third-party plugin may have loaded a second copy of
 * this package, whose classes are other classes of the same name.
 */
export function brand(type: abstract new (...args: never) => object, name: string): void {
  const mark = Symbol.for(`tollgate.${name}`)
  Object.defineProperty(type.prototype, mark, { value: true })
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, one: unknown): boolean {
      // A class that extends this one has instances of its own.
      if (this !== type) return Function.prototype[Symbol.hasInstance].call(this as typeof type, one)
      return typeof one === 'object' && one !== null && mark in one
    },
  })
}
