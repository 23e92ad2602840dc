export const objectIds: readonly string[] = [
  // Administrators search for an id, and a new object with an id ends the record of another key that had it before.
  'CREATE INDEX stored_object_id ON stored_object (id)',
]
