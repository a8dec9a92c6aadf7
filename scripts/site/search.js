// The search of the site understands some characters as operators, for example the colon in "CMS: key does not exist". Readers
// search for error texts and log lines, so the search reads these characters as spaces. The field shows what was typed.
{
  const input = document.querySelector(".md-search__input");
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  Object.defineProperty(input, "value", {
    get() { return get.call(this).replace(/[:+*^~"()[\]{}<>=…]|(?<!\w)['-]|['-](?!\w)/g, " "); },
    set(text) { set.call(this, text); },
  });
}
