import t from 'tap'
import { sqliteHarness } from '../contract/harnesses.ts'
import { storageContract } from '../contract/storage.ts'

await storageContract(t, sqliteHarness)
