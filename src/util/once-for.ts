type Kept<Key, Value> = {
  get(key: Key): Promise<Value> | undefined
  set(key: Key, value: Promise<Value>): unknown
  delete(key: Key): boolean
}

/** The result for a key, made once. A failure is not kept: the next call makes the result again. */
export function onceFor<Key, Value>(kept: Kept<Key, Value>, key: Key, make: () => Promise<Value>): Promise<Value> {
  let made = kept.get(key)
  if (!made) {
    kept.set(key, (made = make()))
    made.catch(() => kept.delete(key))
  }
  return made
}
