export const objectPages: readonly string[] = [
  // Administrators page through the objects of all keys, newest first.
  'CREATE INDEX stored_object_page ON stored_object (created_at, id, key_id, kind)',
]
