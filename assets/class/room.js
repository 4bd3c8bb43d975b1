/**
 * A room on a server: its teacher's page opens it, reads what comes and closes it; students' pages send to it.
 *
 * Must not know lessons or how a class is drawn. A page made of files has no server, and none of this.
 */

import { answerOf } from "../transport/server.js";
import { html, instead, plainButton, setText } from "../viewer/dom.js";
import { messageOf } from "../run/format.js";
import { keep, kept, tabStorage } from "../viewer/kept.js";

const READ_EVERY_MS = 2000;
const KEPT_ROOM = "citer-room";
const CODE_CHARS = 6;

/**
 * What a server answers.
 * @param {Transport} transport @param {string} what @param {object|null} [asked]
 * @throws {Error} with what was wrong, in its words
 */
async function asked(transport, what, asked = null) {
  const message = await answerOf(transport, what, asked);
  if (message.notice) throw new Error(message.notice);
  return message;
}

/** The teacher's side. */
export class RoomPanel {
  /** @type {{room: string, key: string}|null} */
  own = null;
  first = 0;

  /** @param {Transport} transport @param {(codes: string) => void} onCodes */
  constructor(transport, onCodes) {
    this.transport = transport;
    this.onCodes = onCodes;
    this.button = plainButton("Open a room", "cc-button", () => (this.own ? this.#close() : this.#open()));
    this.button.hidden = !transport.offers.has("room_open");
    this.root = html("p", { class: "cc-room", role: "status", hidden: true });
  }

  async #open() {
    try {
      this.own = await asked(this.transport, "room_open");
      this.first = 0;
      const code = html("b", { class: "cc-code" }, this.own?.room ?? "");
      this.#say("Room ", code, ": students type it when a lesson ends. It is forgotten when it is closed.");
      setText(this.button, "Close the room");
      this.#read();
    } catch (error) {
      this.#say(`No room could be opened: ${messageOf(error)}`);
    }
  }

  /** @param {...(string|Node)} words */
  #say(...words) {
    this.root.replaceChildren(...words);
    this.root.hidden = false;
  }

  async #read() {
    const { own } = this;
    if (!own) return;
    try {
      const { answers } = await asked(this.transport, "room_read", { ...own, first: this.first });
      this.first += answers.length;
      if (answers.length) this.onCodes(answers.join("\n"));
    } catch (error) {
      if (this.own === own) this.#ended(messageOf(error));
    }
    setTimeout(() => this.own === own && this.#read(), READ_EVERY_MS);
  }

  async #close() {
    const { own } = this;
    this.#ended("The room is closed, and nothing of it is kept on the server.");
    await asked(this.transport, "room_close", own).catch(() => {}); // it forgets a room that is not read
  }

  /** @param {string} why */
  #ended(why) {
    this.own = null;
    setText(this.button, "Open a room");
    this.#say(why);
  }
}

/**
 * The student's side: one field and a button; null where there is no server to send to.
 * @param {Transport|undefined} transport @param {string} code of the answer
 */
export function sendForm(transport, code) {
  if (!transport?.offers.has("room_send")) return null;
  const field = html("input", {
    ...{ type: "text", class: "cc-room-field", "aria-label": "Room code", placeholder: "Room code" },
    ...{ maxlength: CODE_CHARS + 2, autocomplete: "off", autocapitalize: "characters", spellcheck: "false" },
  });
  field.value = kept(KEPT_ROOM, tabStorage()) ?? "";
  const said = html("span", { role: "status" });
  const send = html("button", { type: "submit", class: "cx-quiet" }, "Send to the class");
  const act = async () => {
    const room = field.value.toUpperCase().replace(/\s/g, "").replace(/O/g, "0").replace(/[IL]/g, "1");
    try {
      await asked(transport, "room_send", { room, answer: code });
      keep(KEPT_ROOM, room, tabStorage());
      setText(said, "Sent.");
      send.disabled = true;
    } catch (error) {
      setText(said, messageOf(error));
    }
  };
  return html("form", { class: "cc-row", ...instead(() => act()) }, field, send, said);
}
