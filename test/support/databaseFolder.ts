/** New folders for the files of databases: in memory if the machine has `/dev/shm`, because each commit would wait for the disk. */
import { accessSync, constants, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const memory = "/dev/shm"

const isWritable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

export const databaseFolder = (): string => mkdtempSync(join(isWritable(memory) ? memory : tmpdir(), "recourse-"))
