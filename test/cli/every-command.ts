// Every command that help lists, so that tests forget none. Hidden aliases have their own tests.
import { Command } from 'commander'
import { allCommands } from '../../src/app/commands/nouns.ts'
import { visibleCommands } from '../../src/cli/program/program.ts'
import { recordingIo } from './recording-io.ts'

export const program = new Command('matoolkit')
for (const add of await allCommands()) add(program, recordingIo())

const leaves = (command: Command, words: readonly string[] = []): [string, Command][] =>
  command.commands.length === 0
    ? [[words.join(' '), command]]
    : visibleCommands(command).flatMap((one) => leaves(one, [...words, one.name()]))

/** Commands without subcommands. */
export const COMMANDS: readonly [words: string, command: Command][] = leaves(program)

export const flagOf = ({ options }: Command, long: string) =>
  options.find((option) => option.long === long)
