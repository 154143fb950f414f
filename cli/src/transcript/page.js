(() => {
  "use strict";
  const box = document.getElementById("find");
  const told = document.getElementById("told");
  const turns = Array.from(document.querySelectorAll("section"), (section) => ({
    section,
    parts: Array.from(section.querySelectorAll(".part"), (part) => ({ part, text: part.textContent.toLowerCase() })),
  }));
  const ranges = (part, word) => {
    const found = [];
    const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const node = walk.currentNode;
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (let at = text.indexOf(word); at >= 0 && found.length < 500; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        found.push(range);
      }
    }
    return found;
  };
  const find = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const marked = [];
    let count = 0;
    for (const { section, parts } of turns) {
      let any = false;
      for (const { part, text } of parts) {
        const fits = words.every((word) => text.includes(word));
        part.hidden = !fits;
        any = any || fits;
        if (!words.length || !fits) continue;
        count += 1;
        if (part.tagName === "DETAILS") part.open = true;
        if (marked.length < 2000) for (const word of words) marked.push(...ranges(part, word));
      }
      section.hidden = !any && words.length > 0;
    }
    told.value = words.length ? `${count} found` : "";
    if (typeof Highlight === "function" && CSS.highlights) {
      CSS.highlights.set("found", new Highlight(...marked));
    }
  };
  box.addEventListener("input", find);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) {
      event.preventDefault();
      box.focus();
    } else if (event.key === "Escape" && document.activeElement === box) {
      box.value = "";
      find();
    }
  });
  addEventListener("beforeprint", () => {
    for (const call of document.querySelectorAll("details")) call.open = true;
  });
})();
