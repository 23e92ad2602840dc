/**
 * Makes `instanceof` work across copies of a class. A third-party plugin may have loaded a second copy of this package,
 * whose classes are different objects with the same names.
 */
export function brand(type: abstract new (...args: never) => object, name: string): void {
  const mark = Symbol.for(`tollgate.${name}`)
  Object.defineProperty(type.prototype, mark, { value: true })
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, one: unknown): boolean {
      // A subclass has instances of its own.
      if (this !== type) return Function.prototype[Symbol.hasInstance].call(this as typeof type, one)
      return typeof one === 'object' && one !== null && mark in one
    },
  })
}
